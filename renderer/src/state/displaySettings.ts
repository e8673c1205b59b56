import { create } from 'zustand';
import { persist } from 'zustand/middleware';

/** Whether times are shown in the person's own time zone or in UTC. */
export type Zone = 'local' | 'utc';

interface DisplaySettings {
  zone: Zone;
  setZone: (zone: Zone) => void;
  /** The titles of the groups of the navigation that are closed. */
  closedGroups: readonly string[];
  setGroup: (title: string, isOpen: boolean) => void;
}

/** Display settings of this browser. The theme is stored by Mantine's colour scheme manager. */
export const useDisplaySettings = create<DisplaySettings>()(
  persist(
    (set) => ({
      zone: 'local',
      setZone: (zone) => set({ zone }),
      closedGroups: [],
      setGroup: (title, isOpen) =>
        set(({ closedGroups }) => {
          const others = closedGroups.filter((each) => each !== title);
          return { closedGroups: isOpen ? others : [...others, title] };
        }),
    }),
    { name: 'strongroom-look' },
  ),
);
