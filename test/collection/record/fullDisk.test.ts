import { afterEach, expect, test, vi } from 'vitest';
import { ObjectReceiver } from '../../../server/collection/record/objectReceiver.ts';
import { createBlobRowIfAbsent } from '../../../server/store/sqlite/node/blobs.ts';
import { openStore, type Store } from '../../../server/store/store.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';

let store: Store | undefined;
afterEach(async () => {
  await store?.close();
  store = undefined;
  await closeTestNodes();
});

const AMPLE = { data_cap_gb: 10, min_free_disk_gb: 0 };

async function* body(text: string) {
  yield Buffer.from(text);
}

test('if the disk becomes full, an object is recorded without its bytes, and the next object is stored', async () => {
  const open = await openStore({ folder: await temporaryFolder(), clock: systemClock });
  store = open;
  const receiver = new ObjectReceiver(open, () => AMPLE);
  const staged = await open.blobs.staging.stage(body('too much'), 1_000);
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  vi.spyOn(open.blobs.staging, 'stage').mockResolvedValueOnce({
    ...staged,
    keep: () => Promise.reject(full),
  });

  const refused = await receiver.receive(body('too much'), 1_000);
  expect(await refused.keep()).toEqual({ isStored: false });
  await refused.discard();
  const next = await receiver.receive(body('fits'), 1_000);
  const { sha256, bytes } = next;
  const { isStored, reservation } = await next.keep();
  expect(isStored).toBe(true);
  await open.write(
    (database) => createBlobRowIfAbsent(database, { sha256, bytes, stored_at: open.instant() }),
    { reservation },
  );
  await next.discard();
  expect(await open.blobs.bytesOf(next.sha256)).toBe(4);
});
