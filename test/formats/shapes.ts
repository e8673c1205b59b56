import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { openZip } from '../../server/zip/openZip.ts';
import { dataIn } from '../../shared/proof/evidence/evidencePage.ts';

/**
 * Says how the files of two folders differ in form: which files, entries of ZIPs, members of JSON with the types of their
 * values, header fields of WARC records, tables, columns and lines one has and the other has not. What the values are is
 * not compared, because each making has other keys, ids, times and digests.
 */
export async function differences(before: string, after: string): Promise<string[]> {
  const [old, now] = await Promise.all([formOf(before), formOf(after)]);
  return [
    ...[...old].filter((said) => !now.has(said)).map((said) => `no longer: ${said}`),
    ...[...now].filter((said) => !old.has(said)).map((said) => `new: ${said}`),
  ].sort();
}

async function formOf(folder: string): Promise<Set<string>> {
  const said = new Set<string>();
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    for (const each of await formOfFile(name, path)) said.add(`${name}: ${each}`);
  }
  return said;
}

async function formOfFile(name: string, path: string): Promise<string[]> {
  return /\.(zip|wacz)$/.test(name) ? formOfZip(path) : formOfBytes(name, await readFile(path));
}

async function formOfZip(path: string): Promise<string[]> {
  const said: string[] = [];
  const zip = await openZip(path, { maxEntries: 10_000, maxBytes: 100_000_000 });
  try {
    for (const member of zip.members) {
      const entry = withoutValues(member.name);
      said.push(entry);
      // A bag within a bag is an example of its own.
      if (member.folder || member.name.endsWith('.zip')) continue;
      const chunks: Uint8Array[] = [];
      for await (const chunk of member.read()) chunks.push(chunk);
      const inEntry = formOfBytes(member.name, Buffer.concat(chunks));
      said.push(...inEntry.map((each) => `${entry}: ${each}`));
    }
  } finally {
    await zip.close();
  }
  return said;
}

function formOfBytes(name: string, bytes: Buffer): string[] {
  const text = () => bytes.toString();
  if (name.endsWith('.db')) return formOfDatabase(bytes);
  if (name.endsWith('.warc.gz')) return formOfWarc(gunzipSync(bytes).toString('latin1'));
  if (name.endsWith('.evidence.html')) return formOfJson(JSON.parse(dataIn(text()) ?? ''));
  if (name.endsWith('.jsonl')) return text().trimEnd().split('\n').flatMap(formOfLine);
  if (/\.(json|jsonld)$/.test(name)) return formOfJson(JSON.parse(text()));
  if (
    /(^|\/)(checkpoint|bagit\.txt|bag-info\.txt|README\.txt|seal\.txt)$|\.(checkpoint|tlog-proof)$/.test(name)
  )
    return text().split('\n').map(withoutValues);
  return [];
}

/** The form of a line of a dump depends on its kind; that of an entry on its type too. */
function formOfLine(line: string): string[] {
  const value = JSON.parse(line) as { kind?: unknown; type?: unknown };
  const kind = [value.kind, value.type].filter((each) => typeof each === 'string').join(' ');
  return formOfJson(value).map((said) => `${kind} ${said}`);
}

function formOfJson(value: unknown, path = '$'): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => formOfJson(each, `${path}[]`));
  if (typeof value !== 'object') return [`${path} ${typeof value}`];
  if (value === null) return [`${path} null`];
  return Object.entries(value).flatMap(([name, each]) => formOfJson(each, `${path}.${withoutValues(name)}`));
}

function formOfWarc(warc: string): string[] {
  return warc.split('WARC/1.1\r\n').flatMap((record) => {
    const [head = '', block = ''] = record.split('\r\n\r\n');
    const type = /^WARC-Type: (.*)$/m.exec(head)?.[1];
    const fields = (lines: string) => lines.split('\r\n').map((line) => line.split(': ')[0] ?? '');
    const ofBlock = /^Content-Type: application\/warc-fields\r?$/m.test(head) ? fields(block) : [];
    return [...fields(head), ...ofBlock].filter((field) => field !== '').map((field) => `${type} ${field}`);
  });
}

function formOfDatabase(bytes: Buffer): string[] {
  // SQLite opens no database in memory that says it has a write-ahead log (file format, bytes 18 and 19).
  const database = new Database(Buffer.from(bytes).fill(1, 18, 20));
  try {
    const rows = database.prepare('SELECT type, name, sql FROM sqlite_schema').all();
    return (rows as Record<string, string>[]).map(({ type, name, sql }) => `${type} ${name} ${sql}`);
  } finally {
    database.close();
  }
}

/** A name or a line without what differs from one making to the next. */
function withoutValues(text: string): string {
  return text
    .replace(/([0-9a-f]{2}\/){0,2}[0-9a-f]{8,}/g, '…')
    .replace(/[A-Za-z0-9+/]{27,}={0,2}/g, '…')
    .replace(/\d+/g, '0');
}
