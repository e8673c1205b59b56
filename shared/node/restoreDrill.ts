import { z } from 'zod';
import { instantSchema } from '../values/text.ts';

const DRILL_OUTCOMES = ['restored', 'damaged', 'key_missing', 'no_room', 'unreachable', 'failed'] as const;
export type DrillOutcome = (typeof DRILL_OUTCOMES)[number];

/** How much a drill restored, and how fast. Each object was compared with its digest. */
const restoredSchema = z.strictObject({
  entries: z
    .int()
    .min(0)
    .meta({ description: 'The ledger entries of the copy. All their records were restored.' }),
  objects: z.int().min(0).meta({ description: 'The objects of the sample that are intact in the copy.' }),
  bytes: z.int().min(0).meta({ description: 'The bytes of these objects.' }),
  all_objects: z.int().min(0).meta({ description: 'The objects that a full restore reads.' }),
  all_bytes: z.int().min(0),
  records_per_second: z
    .number()
    .min(0)
    .meta({ description: 'Lines of the dump, verified, for each second.' }),
  bytes_per_second: z.number().min(0).meta({ description: 'Bytes of objects; 0 if the sample was empty.' }),
  full_restore_seconds: z
    .int()
    .min(0)
    .meta({ description: 'How long a full restore would take at this speed: all records and all objects.' }),
});
export type DrillMeasures = z.output<typeof restoredSchema>;

/** A restore drill: a copy that was restored into a temporary folder, verified, compared with the archive and removed. */
export const restoreDrillSchema = z
  .strictObject({
    at: instantSchema.meta({ description: 'When it began.' }),
    outcome: z.enum(DRILL_OUTCOMES),
    sentence: z.string().meta({ description: 'What was found, and what to do about it.' }),
    restored: restoredSchema.nullable().meta({ description: 'null if the records could not be restored.' }),
    needed_bytes: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'The room that it needs, if there is too little; else null.' }),
  })
  .meta({ id: 'RestoreDrill' });
export type RestoreDrill = z.output<typeof restoreDrillSchema>;
