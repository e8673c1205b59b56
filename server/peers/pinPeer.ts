import { observerSchema } from '../../shared/collection/captures.ts';
import { Problem } from '../../shared/problems.ts';
import { keyNameOf } from '../ledger/nodeKey.ts';
import { type PeerCheckpoint, readPeerCheckpoint, readPeerKey } from './peerCheckpoint.ts';
import { type PeerClient, PeerError } from './peerClient.ts';

/** What a node shows at the first contact. */
export interface PinnedPeer {
  checkpoint: PeerCheckpoint;
  name: string;
  tls_fingerprint: string | null;
}

/**
 * Reads the key and the checkpoint of a node, and checks that they belong together.
 *
 * @param expected the key that the node must have; any if undefined
 * @throws Problem `key_mismatch`, `peer_exists` if it is this node; PeerError; CheckpointError
 */
export async function pinPeer(
  client: PeerClient,
  { expected, ownKey }: { expected?: string | undefined; ownKey: string },
): Promise<PinnedPeer> {
  const shown = await readPeerKey(client);
  if (expected !== undefined && expected !== shown)
    throw new Problem(
      'key_mismatch',
      'The node at this address has another key. Check the address, and compare the keys again.',
    );
  if (shown === ownKey) throw new Problem('peer_exists', 'This is the address of this node itself.');
  const name = observerSchema.safeParse(keyNameOf(shown));
  if (!name.success)
    throw new PeerError('failing', 'There is no node at this address: it does not show a key.');
  const checkpoint = await readPeerCheckpoint(client, shown);
  return { checkpoint, name: name.data, tls_fingerprint: client.certificate };
}
