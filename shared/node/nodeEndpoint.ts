import { z } from 'zod';

/** The endpoint file of a running node, in its data folder: the node's URL and the path of the owner's token. */
export const nodeEndpointSchema = z.object({ url: z.url(), token_file: z.string() });
export type NodeEndpoint = z.infer<typeof nodeEndpointSchema>;
