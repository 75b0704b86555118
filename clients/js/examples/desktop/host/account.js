'use strict';

const http = require('node:http');
const https = require('node:https');

const ANSWER_MS = 10000;
const ANSWER_BYTES = 64 * 1024;

/**
 * Asks the server for a token. It is kept in memory alone; the queue has its own copy in the headers of each
 * entry.
 * @param {string} server its URL
 * @param {{name: string, password: string}} account
 * @returns {Promise<string>}
 * @throws {Error} with a message for people
 */
async function signIn(server, { name, password }) {
  const { status, body } = await post(`${server}/session`, JSON.stringify({ name, password }));
  if (status === 401 || status === 403) throw new Error('Name or password is wrong.');
  if (status !== 201) throw new Error(`The server answered with status ${status}.`);
  let token;
  try {
    ({ token } = JSON.parse(body));
  } catch (error) {
    token = undefined;
  }
  if (typeof token !== 'string' || token === '') throw new Error('The server sent no token.');
  return token;
}

function post(url, text) {
  const send = url.startsWith('https:') ? https.request : http.request;
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const fail = (error) => reject(new Error(`The server cannot be reached: ${error.message}`));
    const request = send(url, { method: 'POST', headers, timeout: ANSWER_MS }, (response) => {
      const chunks = [];
      let bytes = 0;
      response.on('data', (chunk) => {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES) request.destroy(new Error('its answer is too long'));
        else chunks.push(chunk);
      });
      response.on('end', () => {
        resolve({ status: response.statusCode, body: Buffer.concat(chunks).toString() });
      });
      response.on('error', fail);
      response.on('aborted', () => fail(new Error('the connection was cut')));
    });
    request.on('timeout', () => request.destroy(new Error('it does not answer')));
    request.on('error', fail);
    request.end(text);
  });
}

module.exports = { signIn };
