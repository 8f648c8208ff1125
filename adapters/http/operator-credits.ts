import { z } from 'zod';
import { addCredits, type AdministrationDeps } from '../../application/administer.js';
import { largestBalance } from '../../domain/credits.js';
import { longestReason, optionalText, says } from './fields.js';
import {
  byOperator,
  operatorAccess,
  operatorFailure,
  operatorOperation,
  orgOf,
  orgOnly,
  orgPath,
} from './operator.js';
import { readAll } from './read.js';
import { route, type Route } from './route.js';

const purchase = z.object({
  amount: z
    .int()
    .min(1)
    .max(largestBalance)
    .meta({ ...says({ code: 'invalid_parameter' }), maximum: largestBalance }),
  reason: optionalText({ maxLength: longestReason }),
});

/** For the operator: the credits of an organization. */
export const creditRoutes = (deps: AdministrationDeps): readonly Route[] => [
  route({
    method: 'POST',
    path: `${orgPath}/credits`,
    access: operatorAccess,
    params: orgOnly,
    body: purchase,
    failure: operatorFailure,
    operation: operatorOperation('addCredits', 'Add credits', {
      201: z.object({ balance: z.int() }),
    }),
    handle: async (request) => {
      const { amount, reason } = readAll(purchase, request.body);
      return {
        status: 201,
        body: {
          balance: await addCredits(deps, byOperator(request), orgOf(request.params), amount, reason),
        },
      };
    },
  }),
];
