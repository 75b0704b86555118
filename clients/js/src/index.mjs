import outtray from './index.js';

export const { createUploadClient, chunkPlan, CallError, ClientError, SidecarExited, SpawnError } = outtray;
