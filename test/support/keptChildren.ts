import { type Child, type ChildOptions, forkChild, type StartChild } from '../../server/runtime/child.ts';

/** More are needed only while several nodes derive at once. */
const MAX_KEPT = 2;
/** A process is replaced after this many nodes, so that what it keeps in memory does not add up. */
const MAX_NODES = 100;

interface Kept {
  child: Child;
  script: string;
  heapMb: number;
  nodes: number;
  /** Tasks without a reply. */
  pending: number;
  isReady: boolean;
  hasEnded: boolean;
  /** Whom it works for. */
  user: Pick<ChildOptions, 'onMessage' | 'onEnd'> | undefined;
}

const unused: Kept[] = [];

/**
 * Starts a process that derives documents, or gives one on that worked for a node which was closed: to start one takes
 * longer than most of what tests derive. One that is given up while it works is killed, as always.
 */
export const keptChild: StartChild = (options) => {
  const isSame = ({ script, heapMb }: Kept) => script === options.script && heapMb === options.heapMb;
  const found = unused.findIndex(isSame);
  const kept = unused.splice(found, found < 0 ? 0 : 1)[0] ?? start(options);
  kept.user = options;
  kept.nodes += 1;
  // Only the first node hears it from the process.
  if (kept.isReady) queueMicrotask(() => options.onMessage({ isReady: true }));
  return {
    send: (message) => {
      kept.pending += 1;
      kept.child.send(message);
    },
    kill: async () => {
      if (kept.user !== options) return;
      kept.user = undefined;
      const canGoOn = kept.isReady && !kept.hasEnded && kept.pending === 0 && kept.nodes < MAX_NODES;
      if (canGoOn && unused.length < MAX_KEPT) unused.push(kept);
      else if (!kept.hasEnded) await kept.child.kill();
    },
  };
};

function start({ script, heapMb }: ChildOptions): Kept {
  const child = forkChild({
    script,
    heapMb,
    onMessage: (message) => {
      if ('isReady' in (message as object)) kept.isReady = true;
      else kept.pending -= 1;
      kept.user?.onMessage(message);
    },
    onEnd: (end) => {
      kept.hasEnded = true;
      const at = unused.indexOf(kept);
      if (at >= 0) unused.splice(at, 1);
      kept.user?.onEnd(end);
    },
  });
  const kept: Kept = {
    child,
    script,
    heapMb,
    nodes: 0,
    pending: 0,
    isReady: false,
    hasEnded: false,
    user: undefined,
  };
  return kept;
}
