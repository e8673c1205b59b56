import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** The kind of a derived document: the text of an object, or the diff of an event. */
export type DerivedKind = 'text' | 'diff';

/** A derived document, or the reason why there is none. */
export interface DerivedDocumentRow {
  kind: DerivedKind;
  /** The digest of the object, or the number of the event. */
  subject: string;
  /** The digests of the objects it was derived from. */
  objects: string[];
  tool: string;
  tool_version: string;
  made_at: string;
  /** `made`, or a code for why it could not be derived. */
  outcome: string;
  /** Why it could not be derived, as a sentence. */
  detail: string | null;
  title: string | null;
  /** The document as written by `compressContent`; null if it could not be derived. */
  content: Uint8Array | null;
}

type Stored = Omit<DerivedDocumentRow, 'objects'> & { objects: string };

const COLUMNS = 'kind, subject, objects, tool, tool_version, made_at, outcome, detail, title, content';

/** Returns the derived document of a subject, or its failure, by any version of the tool. */
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

/** Inserts or replaces the derived document of a subject. */
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
