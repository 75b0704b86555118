#!/usr/bin/env node
'use strict';

// The upload server for trying the app: node server/main.js [PORT]. Files go into a new temporary folder.
// Each line on stdin is a command; it is how the tests drive it too.
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');
const { ACCOUNT, UploadServer } = require('./upload-server.js');

const HELP = `Commands, each a line:
  expire          every token is refused from now on: uploads wait until somebody signs in again
  slow [KB]       so many kilobytes a second for each upload, 500 unless said
  fast            no limit
  refuse [STATUS] refuses files with this status, 422 unless said
  accept          takes files again
  list            what is stored, one line of JSON
  help            this`;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'uploads-'));
const server = new UploadServer(folder);
const commands = {
  expire: () => server.expireTokens(),
  slow: (kilobytes = 500) => {
    server.rate = Number(kilobytes) * 1000;
  },
  fast: () => {
    server.rate = 0;
  },
  refuse: (status = 422) => {
    server.refuseWith = Number(status);
  },
  accept: () => {
    server.refuseWith = null;
  },
  list: () => console.log(JSON.stringify([...server.stored.values()])),
  help: () => console.log(HELP),
};

server.start(Number(process.argv[2] || 8787)).then((url) => {
  console.log(`${url}, sign in as ${ACCOUNT.name} with the password ${ACCOUNT.password}`);
  console.log(`Files go into ${folder}\n${HELP}`);
  const input = readline.createInterface({ input: process.stdin });
  input.on('line', (line) => {
    const [name, ...words] = line.trim().split(/\s+/);
    if (!Object.keys(commands).includes(name)) return commands.help();
    commands[name](...words);
    return name === 'list' || console.log(`ok ${name}`);
  });
}).catch((error) => {
  console.error(`upload server: ${error.message}`);
  process.exit(1);
});
