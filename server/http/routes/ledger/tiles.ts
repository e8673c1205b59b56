import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Checkpoints } from '../../../ledger/checkpoints.ts';
import { readCheckpoint } from '../../../ledger/prove.ts';
import { readTile } from '../../../ledger/tiles/readTile.ts';
import { parseTilePath } from '../../../ledger/tiles/tileAddress.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { plainText } from '../../reply.ts';

type TileRoutes = 'readLogCheckpoint' | 'readTile';

/** A tile that once was there never changes. */
const FOR_EVER = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/** The ledger as a static log (C2SP tlog-tiles). */
export function tileHandlers(store: Store, checkpoints: Checkpoints): Pick<Handlers, TileRoutes> {
  return {
    readLogCheckpoint: async () =>
      plainText(await readCheckpoint(store, checkpoints), { 'Cache-Control': 'no-cache' }),
    readTile: ({ params: { tile = '' }, request }) => {
      const address = parseTilePath(tile);
      const bytes = readTile(store, address);
      return {
        write: async (response) => {
          response.set(FOR_EVER).type('application/octet-stream');
          // Hashes cannot be compressed; entries take less than half the room.
          if (address.level !== 'entries') return void response.send(bytes);
          response.vary('Accept-Encoding');
          if (request.acceptsEncodings('gzip', 'identity') !== 'gzip') return void response.send(bytes);
          response.set('Content-Encoding', 'gzip').send(await promisify(gzip)(bytes));
        },
      };
    },
  };
}
