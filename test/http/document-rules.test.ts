import { expect } from 'chai';
import { readDocument } from '../support/http/document.js';
import { byRedocly, bySpectral } from '../support/http/lint.js';
import { startTestService, type RunningService } from '../support/http/service.js';

describe('by the recommended rules of Redocly and Spectral', () => {
  let service: RunningService;
  before(async () => (service = await startTestService()));
  after(() => service.stop());

  it('the OpenAPI document for customers has no fault', async () => {
    const customers = await readDocument(service.baseUrl, '/api/openapi.json');
    expect(await byRedocly(customers)).to.deep.equal([]);
    expect(await bySpectral({ ...customers }, 'oas')).to.deep.equal([]);
  });

  it('the OpenAPI document for the operator has no fault', async () => {
    // Error responses are all made alike: one of each operation is enough.
    const { paths, ...rest } = await readDocument(service.baseUrl, '/operator/openapi.json');
    const thinned = Object.fromEntries(
      Object.entries(paths).map(([path, methods]) => [
        path,
        Object.fromEntries(
          Object.entries(methods).map(([method, operation]) => {
            const statuses = Object.keys(operation.responses);
            const [first] = statuses.filter((status) => status >= '400');
            const kept = statuses.filter((status) => status < '400' || status === first);
            const responses = Object.fromEntries(kept.map((status) => [status, operation.responses[status]]));
            return [method, { ...operation, responses }];
          }),
        ),
      ]),
    );
    expect(await byRedocly({ ...rest, paths: thinned })).to.deep.equal([]);
    expect(await bySpectral({ ...rest, paths: thinned }, 'oas')).to.deep.equal([]);
  });

  it('the AsyncAPI document has no fault, and one whose server has no address has some', async () => {
    const whole = (await service.anonymous('/asyncapi.json')).body;
    expect(await bySpectral(whole, 'asyncapi')).to.deep.equal([]);
    const { asyncapi: _, ...broken } = whole;
    expect(
      await bySpectral({ ...broken, asyncapi: '3.1.0', servers: { http: {} } }, 'asyncapi'),
    ).not.to.deep.equal([]);
  });
});
