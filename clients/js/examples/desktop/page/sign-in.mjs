// The form that asks for name and password.

/** @param {{signIn: (account: object) => Promise<unknown>}} ports */
export class SignIn {
  #dialog = document.getElementById('sign-in');
  #form = document.getElementById('sign-in-form');
  #error = document.getElementById('sign-in-error');

  constructor({ signIn }) {
    document.getElementById('sign-in-cancel').addEventListener('click', () => this.#dialog.close());
    this.#form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const { name, password } = this.#form.elements;
      const [submit] = this.#form.querySelectorAll('[type=submit]');
      this.#error.textContent = '';
      submit.disabled = true;
      try {
        await signIn({ name: name.value, password: password.value });
        this.#form.reset();
        this.#dialog.close();
      } catch (error) {
        this.#error.textContent = error.message;
        password.select();
      } finally {
        submit.disabled = false;
      }
    });
  }

  /** @param {{server: string, signedIn: string | null}} settings */
  show({ server, signedIn }) {
    if (this.#dialog.open) return;
    document.getElementById('sign-in-server').textContent = server;
    this.#error.textContent = '';
    if (signedIn) this.#form.elements.name.value = signedIn;
    this.#dialog.showModal();
    this.#form.elements[signedIn ? 'password' : 'name'].focus();
  }
}
