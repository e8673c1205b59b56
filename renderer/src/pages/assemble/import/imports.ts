import { create } from 'zustand';
import type { Pack } from '../../../../../shared/archive/pack.ts';
import { ApiProblem, call } from '../../../api/client.ts';
import { upload } from '../../../api/sendStream.ts';
import { runLocalJob } from '../../../state/runLocalJob.ts';
import { checkPackFile, type OpenPackFile, type PackFileCheck } from './readPackFile.ts';

/** A dropped pack file. */
export interface PackImport {
  pack: OpenPackFile;
  /** Undefined while its files are hashed. */
  check: PackFileCheck | undefined;
  /** Whether the archive has the pack already; undefined until the node has responded. */
  isHeld: boolean | undefined;
  state: 'ready' | 'importing' | 'imported' | 'failed';
  error: unknown;
}

interface Imports {
  imports: readonly PackImport[];
  /** Shows pack files, checks them and asks the node which it has. A pack that is shown already is not added again. */
  show: (packs: readonly OpenPackFile[]) => void;
  /** Imports those that are intact and new, one after the other. Never rejects: each outcome is in `imports`. */
  importAll: () => Promise<void>;
  close: () => void;
}

export const useImports = create<Imports>()((set, get) => {
  const update = (id: string, change: Partial<PackImport>) =>
    set(({ imports }) => ({
      imports: imports.map((each) => (each.pack.id === id ? { ...each, ...change } : each)),
    }));

  const examine = async (pack: OpenPackFile) => {
    const [check, isHeld] = await Promise.all([
      checkPackFile(pack, () => {}),
      call('readPack', { params: { id: pack.id } }).then(
        () => true,
        (error: unknown) => (error instanceof ApiProblem ? false : undefined),
      ),
    ]);
    update(pack.id, { check, isHeld });
  };

  return {
    imports: [],
    show: (packs) => {
      const known = new Set(get().imports.map(({ pack }) => pack.id));
      const fresh = packs.filter(({ id }) => !known.has(id) && known.add(id));
      const added = fresh.map((pack): PackImport => {
        return { pack, check: undefined, isHeld: undefined, state: 'ready', error: undefined };
      });
      set(({ imports }) => ({ imports: [...imports, ...added] }));
      for (const pack of fresh) void examine(pack);
    },
    importAll: async () => {
      for (const { pack } of get().imports.filter(canImport)) {
        update(pack.id, { state: 'importing', error: undefined });
        try {
          await sendPackFile(pack);
          update(pack.id, { state: 'imported', isHeld: true });
        } catch (error) {
          update(pack.id, { state: 'failed', error });
        }
      }
    },
    close: () => set({ imports: [] }),
  };
});

/** Whether a pack file is intact and not in the archive yet. */
export function canImport({ check, isHeld, state }: PackImport): boolean {
  return check?.ok === true && isHeld !== true && (state === 'ready' || state === 'failed');
}

function sendPackFile({ file, id, record }: OpenPackFile): Promise<Pack> {
  return runLocalJob(
    { title: `Importing “${record.title}”`, unit: 'bytes', total: file.size, href: `/packs/${id}` },
    ({ signal, onProgress }) =>
      upload('addPack', { body: file, mediaType: 'application/zip', signal, onProgress }),
  );
}
