import { deploymentEventSchemas } from '../../src/contracts/events/deployment-event-schemas.ts'
import type { DeploymentEvent, SessionEvent, ToldEvent } from '../../src/contracts/event.ts'
import { eventSchemas } from '../../src/contracts/event-schemas.ts'

interface Schema {
  readonly safeParse: (
    value: unknown,
  ) =>
    | { readonly success: true; readonly data: object }
    | { readonly success: false; readonly error: Error }
}

/** Throws what is wrong with a payload: what its schema refuses, and fields that it does not know. */
function check(type: string, data: object, schema: Schema | undefined): void {
  const read = schema?.safeParse(data)
  const wrong = !read
    ? 'there is no such kind'
    : !read.success
      ? read.error.message
      : Object.keys(data)
          .filter((name) => !Object.hasOwn(read.data, name))
          .map((name) => `"${name}" is in no schema`)
          .join(', ')
  if (wrong !== '') throw new Error(`${type} ${JSON.stringify(data)}: ${wrong}`)
}

export const checkStored = ({ type, data }: SessionEvent): void =>
  check(type, data, eventSchemas[type]?.data)

export const checkTold = ({ type, data }: ToldEvent): void =>
  check(type, data, eventSchemas[type]?.told)

export const checkDeployment = ({ type, data }: DeploymentEvent): void =>
  check(type, data, deploymentEventSchemas[type])
