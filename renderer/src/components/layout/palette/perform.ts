import { notifications } from '@mantine/notifications';
import type { SharingMode } from '../../../../../shared/node/settings.ts';
import { call } from '../../../api/client.ts';
import { useJobs } from '../../../state/jobs.ts';
import { useSession } from '../../../state/session.ts';

// What belongs to a page is loaded when it is used, so that the first script stays small.

/** Fills the form for a new source. */
export async function watch(address: string): Promise<void> {
  const { useNewSourceDraft } = await import('../../../pages/sources/form/newSourceDraft.ts');
  useNewSourceDraft.getState().change({ url: address });
}

/** Checks all sources. The page Sources shows the progress and any error. */
export async function startCheck(): Promise<void> {
  const { useCollectionRun } = await import('../../../pages/sources/collectionRun.ts');
  await useCollectionRun.getState().start('all sources');
}

/** Verifies the ledger. The page Ledger shows the progress and the result. */
export async function startVerification(isOwner: boolean): Promise<void> {
  const { useNodeVerification } = await import('../../../pages/ledger/nodeVerification.ts');
  await useNodeVerification.getState().start(isOwner);
}

export async function saveCheckpoint(): Promise<void> {
  const module = await import('../../../pages/ledger/checkpoint/saveCheckpoint.ts');
  await module.saveCheckpoint();
}

/** Starts an audit, which the jobs tray shows. */
export async function startAudit(): Promise<void> {
  const answer = await call('startAudit');
  if ('id' in answer) useJobs.getState().updateNodeJob(answer);
}

const SHARED: Record<SharingMode, string> = {
  off: 'Sharing is off.',
  read: 'The archive is shared for reading.',
  contribute: 'The archive is shared for contributions.',
};

/** Changes the sharing mode and keeps whether an invitation is required. */
export async function applySharing(mode: SharingMode): Promise<void> {
  const { require_invitation } = await call('readSharing');
  await call('setSharing', { body: { mode, require_invitation } });
  await useSession.getState().load();
  notifications.show({ message: SHARED[mode] });
}
