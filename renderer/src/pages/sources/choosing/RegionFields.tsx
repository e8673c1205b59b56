import { NumberInput } from '@mantine/core';
import {
  MAX_PICTURE_HEIGHT,
  MAX_PICTURE_WIDTH,
  type PictureRegion,
} from '../../../../../shared/collection/noise.ts';
import classes from '../sources.module.css';

export type RegionText = Record<keyof PictureRegion, string>;

interface RegionFieldsProps {
  values: Readonly<Record<keyof PictureRegion, string | number>>;
  /** The size of the picture. */
  max?: { width: number; height: number };
  error?: string | undefined;
  onChange: (change: Partial<RegionText>) => void;
}

const LABELS: Readonly<Record<keyof PictureRegion, string>> = {
  x: 'From the left',
  y: 'From the top',
  width: 'Width',
  height: 'Height',
};

/** The numbers of a region, in pixels of the picture. */
export function RegionFields({
  values,
  max = { width: MAX_PICTURE_WIDTH, height: MAX_PICTURE_HEIGHT },
  error,
  onChange,
}: RegionFieldsProps) {
  return (
    <div>
      <div className={classes.fields}>
        {(['x', 'y', 'width', 'height'] as const).map((name) => (
          <NumberInput
            key={name}
            label={LABELS[name]}
            size="xs"
            suffix=" px"
            min={name === 'x' || name === 'y' ? 0 : 1}
            max={name === 'x' || name === 'width' ? max.width : max.height}
            clampBehavior="none"
            allowDecimal={false}
            allowNegative={false}
            value={values[name]}
            error={error !== undefined}
            onChange={(value) => onChange({ [name]: String(value) })}
          />
        ))}
      </div>
      {error && <p className="small bad mt-1">{error}</p>}
    </div>
  );
}
