/** The paths in the bag of an exported archive. */
export const ARCHIVE_BAG = {
  folder: 'strongroom-archive',
  dump: 'data/dump.jsonl',
  blobs: 'data/blobs/',
} as const;
