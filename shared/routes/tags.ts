/** What the addresses are grouped by in the description of the interface, in the order in which it shows them. */
export const ROUTE_TAGS = {
  Nodes: 'The tree that studies and packs hang in.',
  Packs: 'Bundles of research data with a record, a licence and an outcome, named by their fingerprint.',
  Studies: 'Questions that packs answer, with a status and a table of results.',
  Comments: 'What people say about a pack or a study.',
  Citations: 'How to cite a pack or a study.',
  Harvesting: 'The packs as harvesters collect them, by OAI-PMH 2.0.',
  Blobs: 'The bytes of files, named by their SHA-256.',
  Ledger: 'The append-only list of all that was recorded, and the proofs that it was never rewritten.',
  Dump: 'The whole archive as one stream.',
  Collection: 'How the collection of watched sources goes.',
  Timeline: 'What became of each source, event by event.',
  Objects: 'The bytes that were retrieved, exactly as they came.',
  Mementos: 'What was observed, as Memento (RFC 7089) finds it by address and time.',
  Node: 'The node itself and who is asking.',
  Manage: 'What the owner alone may do.',
  Description: 'This description.',
} as const;

export type RouteTag = keyof typeof ROUTE_TAGS;
