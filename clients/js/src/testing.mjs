import testing from './testing.js';

export const { createFakeSidecar } = testing;
