import { z } from 'zod';

/** What a running node tells in its data folder: where it is reached, and where its owner's token is. */
export const nodeEndpointSchema = z.object({ url: z.url(), token_file: z.string() });
export type NodeEndpoint = z.infer<typeof nodeEndpointSchema>;
