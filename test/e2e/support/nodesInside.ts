import { readFile } from 'node:fs/promises';
import { openNode, type RunningNode } from '../../../server/node.ts';
import { createLog } from '../../../server/runtime/log.ts';

/** A request to this process. */
export type NodeRequest = { open: string; id: number } | { close: string; id: number };

/** A response of this process. */
export type NodeResponse =
  | { id: number; opened: { url: string; signInLink: string; token: string } }
  | { id: number; closed: true }
  | { id: number; failed: string };

/** Opens and closes nodes as it is told (see `nodeHost.ts`). They are configured as by `strongroom serve --no-collect`. */
const running = new Map<string, RunningNode>();

process.on('message', (told: NodeRequest) => {
  answer(told).then(
    (said) => process.send?.(said),
    (error: unknown) => process.send?.({ id: told.id, failed: String(error) } satisfies NodeResponse),
  );
});
process.on('disconnect', () => process.exit());

async function answer(told: NodeRequest): Promise<NodeResponse> {
  const { id } = told;
  if ('close' in told) {
    await running.get(told.close)?.close();
    running.delete(told.close);
    return { id, closed: true };
  }
  const node = await openNode({
    dataFolder: told.open,
    port: 0,
    collect: false,
    discovery: { addresses: [] },
    log: createLog('warn'),
  });
  running.set(told.open, node);
  const token = await readFile(node.tokenFile, 'utf8');
  return { id, opened: { url: node.url, signInLink: node.createSignInLink(), token } };
}
