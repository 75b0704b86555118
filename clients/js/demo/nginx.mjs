import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';

const configuration = ({ root, port, user }) => `
${user}worker_processes 1;
daemon off;
pid ${root}/nginx.pid;
error_log ${root}/error.log warn;
events { worker_connections 64; }
http {
  log_format seen '$status $request_method $uri $http_x_request_id';
  access_log ${root}/access.log seen;
  client_body_temp_path ${root}/temp;
  proxy_temp_path ${root}/temp; fastcgi_temp_path ${root}/temp;
  uwsgi_temp_path ${root}/temp; scgi_temp_path ${root}/temp;
  client_max_body_size 0;
  server {
    listen 127.0.0.1:${port};
    location / { root ${root}/stored; dav_methods PUT; create_full_put_path on; }
  }
}
`;

/** A real nginx that stores what is PUT, on a free port of loopback. */
export class Nginx {
  #child;
  #ended;

  /**
   * Starts it in a folder of its own and waits until it listens.
   * @param {string} root a folder that does not exist yet
   * @returns {Promise<Nginx>}
   */
  static async start(root) {
    await mkdir(path.join(root, 'stored'), { recursive: true });
    await mkdir(path.join(root, 'temp'));
    const port = await freePort();
    // Started as root, its worker would become another user, who cannot write here.
    const user = process.getuid() === 0 ? 'user root;\n' : '';
    const file = path.join(root, 'nginx.conf');
    await writeFile(file, configuration({ root, port, user }));
    const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
    const child = spawn('nginx', ['-p', root, '-c', file], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const nginx = new Nginx(root, port, child);
    await nginx.#listens();
    return nginx;
  }

  constructor(root, port, child) {
    this.root = root;
    this.port = port;
    this.#child = child;
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    this.#ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (status) => resolve(`status ${status} ${errors}`));
    });
  }

  /** @param {string} name where a PUT to this path is stored */
  stored(name) {
    return path.join(this.root, 'stored', name);
  }

  /** @returns {Promise<{status: string, requestId: string}[]>} the requests it has logged */
  async log() {
    const lines = (await readFile(path.join(this.root, 'access.log'), 'utf8')).trimEnd().split('\n');
    return lines.filter(Boolean).map((line) => {
      const [status, , , requestId] = line.split(' ');
      return { status, requestId };
    });
  }

  async stop() {
    this.#child.kill('SIGTERM');
    await this.#ended;
  }

  async #listens() {
    let ended = null;
    this.#ended.then((why) => {
      ended = why;
    });
    for (const end = Date.now() + 10_000; Date.now() < end;) {
      if (ended !== null) throw new Error(`nginx did not start: ${ended}`);
      if (await connects(this.port)) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error('nginx does not listen after 10 s');
  }
}

function connects(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
