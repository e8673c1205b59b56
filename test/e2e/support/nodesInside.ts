import { readFile } from 'node:fs/promises';
import { openNode, type RunningNode } from '../../../server/node.ts';
import { createLog } from '../../../server/runtime/log.ts';

/** A request to this process. */
export type NodeRequest =
  | { open: string; id: number; isLoopbackPublic: boolean; packBytes?: number | undefined }
  | { close: string; id: number };

/** A response of this process. */
export type NodeResponse =
  | { id: number; opened: { url: string; signInLink: string; token: string } }
  | { id: number; closed: true }
  | { id: number; failed: string };

/** Opens and closes nodes on request (see `nodeHost.ts`). They are configured as by `strongroom serve --no-collect`. */
const running = new Map<string, RunningNode>();

process.on('message', (request: NodeRequest) => {
  answer(request).then(
    (said) => process.send?.(said),
    (error: unknown) => process.send?.({ id: request.id, failed: String(error) } satisfies NodeResponse),
  );
});
process.on('disconnect', () => process.exit());

async function answer(request: NodeRequest): Promise<NodeResponse> {
  const { id } = request;
  if ('close' in request) {
    await running.get(request.close)?.close();
    running.delete(request.close);
    return { id, closed: true };
  }
  const node = await openNode({
    dataFolder: request.open,
    port: 0,
    collect: false,
    ...(request.isLoopbackPublic && { network: { isPrivateAddress: () => false } }),
    ...(request.packBytes !== undefined && { packBytes: request.packBytes }),
    discovery: { addresses: [] },
    log: createLog('warn'),
  });
  running.set(request.open, node);
  const token = await readFile(node.tokenFile, 'utf8');
  return { id, opened: { url: node.url, signInLink: node.createSignInLink(), token } };
}
