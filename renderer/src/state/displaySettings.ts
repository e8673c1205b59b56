import { create } from 'zustand';
import { persist } from 'zustand/middleware';

/** Whether times are shown in the person's own time zone or in UTC. */
export type Zone = 'local' | 'utc';

interface Look {
  zone: Zone;
  setZone: (zone: Zone) => void;
}

/** Display settings of this browser. The theme is stored by Mantine's colour scheme manager. */
export const useDisplaySettings = create<Look>()(
  persist((set) => ({ zone: 'local', setZone: (zone) => set({ zone }) }), { name: 'strongroom-look' }),
);
