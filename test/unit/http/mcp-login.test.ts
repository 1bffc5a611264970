import { expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import { finishMcpLogin } from '../../../src/http/operator/mcp-login.ts'

it.each([
  ['request_invalid', 0],
  ['request_not_found', 0],
  ['request_unavailable', 1],
] as const)('a sign-in that ends with %s is told %s times as a fault', async (code, count) => {
  const faults: unknown[] = []
  const finishLogin = async () => {
    throw new IsolaError(code, 'no')
  }
  const deps = { mcp: { finishLogin }, onFault: (error: unknown) => void faults.push(error) }
  const context = { req: { url: 'https://isola.example/mcp/callback?state=a.b' }, get: () => 'req' }
  // As much of both as this route takes.
  const response = await finishMcpLogin(deps as never)(context as never)
  expect(response.status).toBe(400)
  expect(faults).toHaveLength(count)
})
