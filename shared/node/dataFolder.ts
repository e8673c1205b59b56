import { z } from 'zod';
import { namedObject } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';

/** A move of an archive to another folder, as each of the two folders records it. */
export const moveSchema = z.strictObject({
  /** The same in both folders. */
  id: z.string().regex(/^[0-9a-f]{32}$/, 'The id of a move is 32 hex digits.'),
  /** The other folder: an absolute path. */
  folder: z.string().min(1).max(10_000),
  at: instantSchema,
});
export type Move = z.output<typeof moveSchema>;

/** Where the archive is on the machine of the node. */
export const dataFolderSchema = namedObject('DataFolder', {
  folder: z.string(),
  /** The folder from which the archive was moved here, as long as the owner has not confirmed its removal. */
  moved_from: z
    .strictObject({
      folder: z.string(),
      at: instantSchema,
      /** Whether it is there now; it may be on a disk that is not attached. */
      exists: z.boolean(),
    })
    .nullable(),
});
export type DataFolder = z.output<typeof dataFolderSchema>;

/** The endpoint file of a running node, in its data folder: the node's URL and the path of the owner's token. */
export const nodeEndpointSchema = z.object({ url: z.url(), token_file: z.string() });
export type NodeEndpoint = z.infer<typeof nodeEndpointSchema>;
