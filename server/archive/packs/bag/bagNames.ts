/** The names of the tag files that are written, and the folder of the payload. */
export const RECORD_FILE = 'pack.json';
export const CRATE_FILE = 'ro-crate-metadata.json';
export const DECLARATION_FILE = 'bagit.txt';
export const INFO_FILE = 'bag-info.txt';
export const MANIFEST_FILE = 'manifest-sha256.txt';
export const TAG_MANIFEST_FILE = 'tagmanifest-sha256.txt';
export const PAYLOAD_FOLDER = 'data/';
