// Drives the example in Electron by Playwright, as test_electron.py asks:
//
//   node drive-electron.mjs DRIVER ELECTRON APP SERVER DIR FILE PICTURE [first|again]
//
// Prints what it saw as one line of JSON.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [driver, electron, app, server, dir, file, picture, which] = process.argv.slice(2);
const { _electron } = createRequire(import.meta.url)(driver);
const shell = await _electron.launch({
  executablePath: electron, args: ['--no-sandbox', '--disable-gpu', app, '--server', server, '--dir', dir],
});
const page = await shell.firstWindow();
// Playwright's own waiting and clicking want a later browser than Electron 9 has.
await page.waitForFunction(() => document.body.dataset.ready);
const click = (selector) => page.evaluate((found) => document.querySelector(found).click(), selector);
const fill = (selector, text) => page.evaluate(([found, value]) => {
  document.querySelector(found).value = value;
}, [selector, text]);
const seen = {
  versions: await shell.evaluate(() => process.versions.electron),
  // What the page must not have.
  leaks: await page.evaluate(() => ['require', 'process', 'module'].filter((name) => name in window)),
  bridge: await page.evaluate(() => Object.keys(window.electronBridge).sort()),
};

/** Waits until the row of the file is in a state. */
const rowIs = (state) => page.waitForFunction((wanted) => {
  const row = document.querySelector('.row');
  return row && row.dataset.state === wanted;
}, state);

if (which === 'first') {
  await page.setInputFiles('#picker', file);
  await rowIs('awaiting-auth');
  await click('#sign-in-now');
  await fill('#name', 'demo');
  await fill('#password', 'demo');
  await click('#sign-in-form [type=submit]');
  await rowIs('running');
  await page.waitForFunction(() => Number(document.querySelector('.row progress').value) > 200000);
  await page.waitForFunction(() => / left$/.test(document.querySelector('.row .status').textContent));
  seen.title = await shell.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0].getTitle());
} else {
  await rowIs('completed');
}
seen.name = await page.evaluate(() => document.querySelector('.row .name').textContent);
const image = await shell.evaluate(async ({ BrowserWindow }) => {
  const shot = await BrowserWindow.getAllWindows()[0].webContents.capturePage();
  return shot.toPNG().toString('base64');
});
writeFileSync(picture, Buffer.from(image, 'base64'));
// The window is closed as its user would; the app has to end by itself.
const ended = new Promise((resolve) => shell.process().once('exit', (code) => resolve(code)));
await shell.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0].close()).catch(() => {});
seen.status = await ended;
console.log(JSON.stringify({ ...seen, file: path.basename(file) }));
