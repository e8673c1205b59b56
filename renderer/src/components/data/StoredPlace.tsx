import { Tooltip } from '@mantine/core';
import { IconCloud } from '@tabler/icons-react';
import type { ObjectPlaces } from '../../../../shared/node/offload.ts';
import { useCall } from '../../api/useCall.ts';
import { placeOf } from '../../format/copyPlace.ts';
import { useIsOwner } from '../../state/session.ts';
import classes from './StoredPlace.module.css';

/** Returns where an object lies; undefined for visitors, and while no object has left this disk. */
function usePlaces(sha256: string): ObjectPlaces | undefined {
  const isOwner = useIsOwner();
  const { data: state } = useCall('readOffload', {}, { enabled: isOwner });
  const enabled = (state?.away_objects ?? 0) > 0;
  return useCall('readObjectPlaces', { params: { sha256 } }, { enabled }).data;
}

/** Says where an object lies, and what reading it needs. */
export function StoredPlace({ sha256 }: { sha256: string }) {
  const places = usePlaces(sha256);
  return places ? <p className="muted small wrap-anywhere">{sentenceOf(places)}</p> : null;
}

/** A mark for an object that has left this disk, short enough for a row. */
export function StoredPlaceMark({ sha256 }: { sha256: string }) {
  const places = usePlaces(sha256);
  if (!places || places.is_here) return null;
  return (
    <Tooltip label={sentenceOf(places)} multiline maw="24rem">
      <span className={`${classes.mark} muted small`}>
        <IconCloud size={15} aria-hidden /> In a copy
      </span>
    </Tooltip>
  );
}

function sentenceOf({ is_here, copies }: ObjectPlaces): string {
  const names = copies.map(({ target }) => placeOf(target));
  const listed = names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names[0];
  if (is_here) return listed === undefined ? 'On this disk only.' : `On this disk, and in ${listed}.`;
  if (listed === undefined) return 'Not on this disk, and in no copy that is known.';
  const needs = copies.every(({ target }) => target.startsWith('s3:'))
    ? 'Away from the network it cannot be read, verified or exported.'
    : 'While that place cannot be reached, it cannot be read, verified or exported.';
  return `Not on this disk: in ${listed}, and read from there when it is opened. ${needs}`;
}
