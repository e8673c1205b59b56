import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** What is made: the text of an object, or the diff of an event. */
export type DerivedKind = 'text' | 'diff';

/** A derived document, or why there is none. */
export interface DerivedDocumentRow {
  kind: DerivedKind;
  /** What it is the text or the diff of: a digest, or an event's number. */
  subject: string;
  /** The digests of what it was made from. */
  objects: string[];
  tool: string;
  tool_version: string;
  made_at: string;
  /** `made`, or the word for why nothing could be made. */
  outcome: string;
  /** The sentence for why nothing could be made. */
  detail: string | null;
  title: string | null;
  /** `compressContent` of the document; null where nothing was made. */
  content: Uint8Array | null;
}

type Stored = Omit<DerivedDocumentRow, 'objects'> & { objects: string };

const COLUMNS = 'kind, subject, objects, tool, tool_version, made_at, outcome, detail, title, content';

/** The document of a subject, made or not, of whatever version its tool was. */
export function derivedDocument(
  database: ReadDatabase,
  kind: DerivedKind,
  subject: string,
): DerivedDocumentRow | undefined {
  const row = statement<Stored>(
    database,
    `SELECT ${COLUMNS} FROM derived_documents WHERE kind = ? AND subject = ?`,
  ).get(kind, subject);
  return row && { ...row, objects: JSON.parse(row.objects) as string[] };
}

/** Keeps a document in place of the one that its subject had. */
export function putDerivedDocument(database: WriteDatabase, document: DerivedDocumentRow): void {
  statement(
    database,
    `INSERT INTO derived_documents (${COLUMNS})
     VALUES (@kind, @subject, @objects, @tool, @tool_version, @made_at, @outcome, @detail, @title, @content)
     ON CONFLICT (kind, subject) DO UPDATE SET objects = excluded.objects, tool = excluded.tool,
       tool_version = excluded.tool_version, made_at = excluded.made_at, outcome = excluded.outcome,
       detail = excluded.detail, title = excluded.title, content = excluded.content`,
  ).run({ ...document, objects: JSON.stringify(document.objects) });
}
