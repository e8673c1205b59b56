import { Link } from 'react-router';
import { useCall } from '../../api/useCall.ts';

/** A link to a pack. Shows the id until the title is loaded. */
export function PackLink({ id }: { id: string }) {
  const pack = useCall('readPack', { params: { id } });
  return <Link to={`/packs/${id}`}>{pack.data?.title ?? <span className="mono">{id}</span>}</Link>;
}
