#!/usr/bin/env node
'use strict';

// The app without Electron: this process is the host of the queue, a browser on this machine shows the page.
//
//   node browser/main.js [--server URL] [--dir DIR] [--port N] [--binary FILE]
const os = require('node:os');
const path = require('node:path');
const { readOptions } = require('../host/options.js');
const { Uploads } = require('../host/uploads.js');
const { PageServer } = require('./page-server.js');

async function main() {
  const home = process.env.XDG_DATA_HOME || path.join(os.homedir(), '.local', 'share');
  const options = readOptions(process.argv.slice(2), { dir: path.join(home, 'outtray-desktop') });
  const page = new PageServer(options.dir);
  const uploads = await Uploads.open({ ...options, onChange: (change) => page.tell(change) });
  const link = await page.start(uploads, options.port);
  console.log(`Uploads, for ${options.server}\n\n  ${link}\n`);
  console.log('Only this link opens it. Ctrl+C ends the page; uploads go on until they are done.');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.once(signal, async () => {
      page.stop();
      await uploads.leave().catch((error) => console.error(error));
      process.exit(0);
    });
  }
}

main().catch((error) => {
  console.error(`outtray desktop: ${error.message}`);
  process.exit(1);
});
