'use strict';

const path = require('node:path');

const ENDINGS = {
  picture: 'avif bmp gif heic ico jpeg jpg png raw svg tif tiff webp',
  video: 'avi m4v mkv mov mp4 mpeg mpg webm',
  audio: 'aac flac m4a mp3 ogg opus wav',
  document: 'csv doc docx epub html md odp ods odt pdf ppt pptx rtf tex txt xls xlsx',
};
const BY_ENDING = new Map(Object.entries(ENDINGS)
  .flatMap(([kind, endings]) => endings.split(' ').map((ending) => [ending, kind])));

/** Every kind; each has a key of its own in the queue, so that each can be paused alone. */
const KINDS = [...Object.keys(ENDINGS), 'other'];

/** What sort of file a name stands for. */
function kindOf(name) {
  return BY_ENDING.get(path.extname(name).slice(1).toLowerCase()) || 'other';
}

/** The key of a kind's entries. It is stored with them: rename it with care. */
function keyOf(kind) {
  return `upload.${kind}`;
}

const BY_KEY = new Map(KINDS.map((kind) => [keyOf(kind), kind]));

/** The kind that a key stands for; undefined when it is the key of another program on the same queue. */
function kindOfKey(key) {
  return BY_KEY.get(key);
}

module.exports = { KINDS, kindOf, kindOfKey, keyOf };
