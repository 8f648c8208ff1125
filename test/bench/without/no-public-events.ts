import { allProjections as all } from '../../../projections/all.js';

export * from '../../../projections/all.js';

export const allProjections = all.filter(({ name }) => name !== 'public_events');
