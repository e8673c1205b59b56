import type { Clock } from '../../../shared/values/clock.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import { type FoundNode, nodesIn, SERVICE } from './announcer.ts';
import { MulticastSocket, type Received } from './multicast.ts';

/** A node answers within 120 ms, but not twice within a second. So the second question reaches those that were silent. */
const ASK_AGAIN_MS = 1_000;
const WAIT_MS = 500;
/** Anyone on the network can answer, so what is listed is bounded. */
const MAX_NODES = 100;
const MAX_NODES_OF_SENDER = 8;

export interface Discovery {
  /** The IPv4 addresses of this machine on its networks. */
  addresses: readonly string[];
  port: number;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/** Asks the networks of this machine for nodes, and returns those that answered within one and a half seconds. */
export async function discoverNodes({
  addresses,
  port,
  clock,
  log,
  signal,
}: Discovery): Promise<FoundNode[]> {
  const found = new Map<string, FoundNode>();
  const bySender = new Map<string, number>();
  const receive = ({ packet, sender }: Received) => {
    for (const node of nodesIn(packet, sender)) {
      const id = `${node.url} ${node.key}`;
      const ofSender = bySender.get(sender) ?? 0;
      const isFull = found.size >= MAX_NODES || ofSender >= MAX_NODES_OF_SENDER;
      if (found.has(id) || isFull) continue;
      bySender.set(sender, ofSender + 1);
      found.set(id, node);
    }
  };
  const failed = (error: unknown) => log.info({ error }, 'A network could not be asked for nodes.');
  const opened = await Promise.allSettled(
    addresses.map((address) => MulticastSocket.open({ address, port }, { receive, failed })),
  );
  const sockets = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  for (const each of opened) if (each.status === 'rejected') failed(each.reason);
  if (sockets.length === 0) return [];
  try {
    const ask = () => {
      for (const socket of sockets)
        socket.send({ type: 'query', id: 0, questions: [{ type: 'PTR', name: SERVICE, class: 'IN' }] });
    };
    ask();
    await clock.sleep(ASK_AGAIN_MS, signal);
    if (!signal.aborted) ask();
    await clock.sleep(WAIT_MS, signal);
    // If the process was held up, the timer is over before what arrived meanwhile was read.
    await yieldToEventLoop();
  } finally {
    await Promise.all(sockets.map((socket) => socket.close()));
  }
  return [...found.values()].sort((left, right) => left.url.localeCompare(right.url));
}
