// Files that come in: dropped, or chosen in the picker.

/** So many at once; each of them may be gigabytes. */
const AT_ONCE = 3;

/**
 * @param {object} ports
 * @param {(file: File) => Promise<unknown>} ports.add
 * @param {(left: number, of: number) => void} ports.onAdding
 * @param {(message: string) => void} ports.onTrouble
 */
export class Intake {
  #ports;
  #waiting = [];
  #running = 0;
  #taken = 0;

  constructor(ports) {
    this.#ports = ports;
  }

  /** Lets the whole window take files. */
  listen(picker) {
    picker.addEventListener('change', () => {
      this.take([...picker.files]);
      // The same file may be chosen again.
      picker.value = '';
    });
    let depth = 0;
    const show = () => document.body.classList.toggle('dragging', depth > 0);
    const onDrag = (name, act) => window.addEventListener(name, (event) => {
      if (!event.dataTransfer || ![...event.dataTransfer.types].includes('Files')) return;
      event.preventDefault();
      act(event.dataTransfer);
      show();
    });
    onDrag('dragenter', () => {
      depth += 1;
    });
    onDrag('dragleave', () => {
      depth -= 1;
    });
    onDrag('dragover', (transfer) => {
      transfer.dropEffect = 'copy';
    });
    onDrag('drop', (transfer) => {
      depth = 0;
      this.#takeDropped(transfer);
    });
  }

  #takeDropped({ items, files }) {
    const isFolder = (item) => item.webkitGetAsEntry && (item.webkitGetAsEntry() || {}).isDirectory;
    const folders = [...items].filter((item) => item.kind === 'file').map(isFolder);
    if (folders.includes(true)) this.#ports.onTrouble('Folders are not taken; drop the files in them.');
    this.take([...files].filter((file, at) => !folders[at]));
  }

  take(files) {
    this.#waiting.push(...files);
    this.#taken += files.length;
    this.#pump();
  }

  #pump() {
    while (this.#running < AT_ONCE && this.#waiting.length > 0) {
      const file = this.#waiting.shift();
      this.#running += 1;
      this.#ports.add(file)
        .catch((error) => this.#ports.onTrouble(`${file.name} was not added. ${error.message}`))
        .finally(() => {
          this.#running -= 1;
          this.#pump();
        });
    }
    const left = this.#waiting.length + this.#running;
    this.#ports.onAdding(left, this.#taken);
    if (left === 0) this.#taken = 0;
  }
}
