import { MemoryReadModels } from '../../support/memory/read-models.js';
import { projectionStoreContract } from '../../contract/projection-store.js';
import { readModelsContract } from '../../contract/read-models.js';

const open = async () => {
  const both = new MemoryReadModels();
  return { readModels: both, store: both, later: () => Promise.resolve(), close: () => Promise.resolve() };
};

readModelsContract('memory', open);
projectionStoreContract('memory', open);
