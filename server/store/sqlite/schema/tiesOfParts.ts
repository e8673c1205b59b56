import type { Migration } from '../engine/migration.ts';

/**
 * `joined_files.ties` says which of a file and its part is withheld with the other: `both`; `claimed`, which is the same, as
 * somebody else than the owner says; only the `part` with the file; or `none`. What this archive has of its own is tied by its
 * owner only: once he brings what somebody else claimed, the tie ends, unless one of the two is withheld at that time.
 *
 * `mirroring` and `peer_objects` have the origin 0 for what visitors send. An object that several others sent, and never the
 * owner, has it too.
 */
export const TIES_OF_PARTS: Migration = {
  number: 101,
  sql: `
ALTER TABLE joined_files ADD COLUMN ties TEXT NOT NULL DEFAULT 'both' CHECK (ties IN ('both', 'claimed', 'part', 'none'));

DROP TRIGGER file_of_withheld_parts_is_withheld;
CREATE TRIGGER file_of_withheld_parts_is_withheld AFTER INSERT ON blobs BEGIN
  INSERT OR IGNORE INTO withheld_objects SELECT NEW.sha256, o.withholding
    FROM joined_files j CROSS JOIN withheld_objects o ON o.sha256 = j.part
    WHERE j.sha256 = NEW.sha256 AND j.ties IN ('both', 'claimed')
    UNION SELECT NEW.sha256, withholding FROM withheld_targets WHERE target = NEW.sha256;
END;

DROP TRIGGER objects_have_origins;
CREATE TRIGGER objects_have_origins BEFORE INSERT ON blobs BEGIN
  DELETE FROM peer_objects WHERE sha256 = NEW.sha256 AND (SELECT origin FROM mirroring) IS NULL;
  UPDATE peer_objects SET origin = 0 WHERE sha256 = NEW.sha256 AND origin <> (SELECT origin FROM mirroring);
  INSERT INTO peer_objects SELECT NEW.sha256, origin FROM mirroring WHERE origin IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM blobs WHERE sha256 = NEW.sha256)
    AND NOT EXISTS (SELECT 1 FROM peer_objects WHERE sha256 = NEW.sha256);
  INSERT INTO objects_from_elsewhere SELECT NEW.sha256 FROM mirroring WHERE coalesce(origin, 0) = 0
    AND EXISTS (SELECT 1 FROM withheld_objects o JOIN peer_words w ON w.withholding = o.withholding
      WHERE o.sha256 = NEW.sha256)
    AND NOT EXISTS (SELECT 1 FROM objects_from_elsewhere WHERE sha256 = NEW.sha256);
END;

CREATE TRIGGER own_objects_are_tied_by_their_owner AFTER DELETE ON peer_objects BEGIN
  UPDATE joined_files SET ties = CASE WHEN part = OLD.sha256 THEN 'none' ELSE 'part' END
    WHERE (part = OLD.sha256 OR (sha256 = OLD.sha256 AND ties = 'claimed')) AND ties IN ('claimed', 'part')
      AND NOT EXISTS (SELECT 1 FROM withheld_objects o WHERE o.sha256 IN (joined_files.sha256, joined_files.part));
END;
`,
};
