/** The file of a copy that says whose copy it is and which data folder writes to it. */
export const CLAIM = 'strongroom.json';
