import { type ReadDatabase, statement } from '../engine/open.ts';

/** A file of a pack. `pack` is the ledger entry of the pack. */
export interface FileOfPack {
  pack: number;
  id: string;
  path: string;
}

/** Returns the files with these bytes in other packs, oldest pack first. */
export function filesWithDigest(
  database: ReadDatabase,
  sha256: string,
  { exceptPack, limit }: { exceptPack: number; limit: number },
): FileOfPack[] {
  return statement<FileOfPack>(
    database,
    `SELECT f.pack, p.id, f.path FROM pack_files f INDEXED BY pack_files_by_sha256 JOIN packs p ON p.ledger_entry = f.pack
     WHERE f.sha256 = ? AND f.pack <> ? ORDER BY f.pack, f.path LIMIT ?`,
  ).all(sha256, exceptPack, limit);
}

/** A later version of a pack, with the digest that it has at a path; null if it has no file there. */
export interface FileVersion {
  id: string;
  received_at: string;
  sha256: string | null;
}

/** Returns the versions that follow a pack, oldest first. Where two packs supersede one, the newer one is followed. */
export function laterFileVersions(database: ReadDatabase, pack: string, path: string): FileVersion[] {
  return statement<FileVersion>(
    database,
    `WITH RECURSIVE later (id, entry) AS (
       SELECT id, ledger_entry FROM packs WHERE ledger_entry = (SELECT max(ledger_entry) FROM packs WHERE supersedes = @pack)
       UNION ALL
       SELECT p.id, p.ledger_entry FROM later l JOIN packs p
         ON p.ledger_entry = (SELECT max(ledger_entry) FROM packs WHERE supersedes = l.id)
     )
     SELECT l.id, (SELECT at FROM ledger WHERE seq = l.entry) AS received_at,
       (SELECT sha256 FROM pack_files WHERE pack = l.entry AND path = @path) AS sha256
     FROM later l ORDER BY l.entry`,
  ).all({ pack, path });
}
