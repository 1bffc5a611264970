import { env } from 'cloudflare:workers'
import { sha256 } from './kernel.ts'
import { createSessionGateway, type SessionNamespace } from '../../src/runtime/session/gateway.ts'

/** The binding without its methods, whose types are too deep for the compiler. */
const namespace = env.SESSION as unknown as DurableObjectNamespace

/** The object behind a session id, for what only a test may do to it. */
export function stubOf(session: string): DurableObjectStub {
  let stub: DurableObjectStub | undefined
  const getByName = (name: string) => (stub = namespace.getByName(name))
  createSessionGateway({ namespace: { getByName }, sha256 }).at(session)
  return stub!
}

/** Reaches sessions as another session would. */
export const sessions = createSessionGateway({ namespace: namespace as SessionNamespace, sha256 })
