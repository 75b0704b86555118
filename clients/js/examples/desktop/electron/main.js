'use strict';

// The app in Electron: this process is the host of the queue, the page asks it by named commands alone.
const path = require('node:path');
const { app, BrowserWindow, dialog, ipcMain, nativeTheme } = require('electron');
const { COMMANDS, Uploads } = require('../host/uploads.js');
const { readOptions } = require('../host/options.js');

const PAGE = path.join(__dirname, '..', 'page', 'index.html');
app.setName('outtray-desktop');
let uploads;
let shown = null;

function createWindow() {
  const preferences = {
    preload: path.join(__dirname, 'preload.js'),
    contextIsolation: true, nodeIntegration: false, sandbox: true,
  };
  shown = new BrowserWindow({
    width: 760, height: 680, minWidth: 360, minHeight: 400, show: false, title: 'Uploads',
    backgroundColor: nativeTheme.shouldUseDarkColors ? '#1b1c1f' : '#f6f6f7', webPreferences: preferences,
  });
  const { webContents } = shown;
  // A link, or a file that is dropped beside the page's own handling, never leads anywhere else.
  webContents.on('will-navigate', (event) => event.preventDefault());
  if (webContents.setWindowOpenHandler) webContents.setWindowOpenHandler(() => ({ action: 'deny' }));
  else webContents.on('new-window', (event) => event.preventDefault());
  webContents.session.setPermissionRequestHandler((contents, permission, answer) => answer(false));
  shown.removeMenu();
  shown.once('ready-to-show', () => shown.show());
  shown.once('closed', () => {
    shown = null;
  });
  return shown.loadFile(PAGE);
}

/** Only the page of our own window is answered. What fails is told without Electron's own words around it. */
function answer(channel, act) {
  ipcMain.handle(channel, async (event, ...args) => {
    if (!shown || event.sender !== shown.webContents) throw new Error('not from the window of the app');
    try {
      return { value: await act(...args) };
    } catch (error) {
      return { error: error.message };
    }
  });
}

answer('snapshot', () => uploads.snapshot());
answer('add', (file) => uploads.add({ file: String(file) }));
answer('call', (command, args) => {
  if (!COMMANDS.includes(command)) throw new Error(`There is no command ${command}.`);
  return uploads[command](args);
});
ipcMain.on('progress', (event, fraction) => {
  if (shown && event.sender === shown.webContents) shown.setProgressBar(fraction === null ? -1 : fraction);
});

async function start() {
  await app.whenReady();
  const options = readOptions(process.argv.slice(app.isPackaged ? 1 : 2), { dir: app.getPath('userData') });
  uploads = await Uploads.open({
    ...options,
    onChange: (change) => {
      if (shown) shown.webContents.send('change', change);
    },
  });
  await createWindow();
}

// A second start shows the window of the first.
if (app.requestSingleInstanceLock()) {
  app.on('second-instance', () => {
    if (!shown) return;
    if (shown.isMinimized()) shown.restore();
    shown.focus();
  });
  app.on('window-all-closed', () => {
    const leaving = uploads ? uploads.leave() : Promise.resolve();
    leaving.catch((error) => console.error(error)).then(() => app.exit(0));
  });
  start().catch((error) => {
    console.error(`outtray desktop: ${error.message}`);
    dialog.showErrorBox('Uploads cannot start', error.message);
    app.exit(1);
  });
} else {
  app.quit();
}
