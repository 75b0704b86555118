import session from './session.js';

export const { Session } = session;
