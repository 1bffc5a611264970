import { describe, expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import type { Rights } from '#contracts/keys.ts'
import { createMayGoOn } from '../../../src/features/access/may-begin.ts'

const served: Readonly<Record<string, string>> = { large: 'openai/large', small: 'openai/small' }
const open = (rights: Rights | undefined) =>
  createMayGoOn({
    keys: { find: async () => undefined, rightsOf: async () => rights },
    fullNameOf: (model) => served[model] ?? (model.includes('/') ? model : undefined),
  })
const asked = { principal: 'alice', agent: 'reviewer', model: 'large' }

describe('I26: a run that waited is held to what its principal may do when it goes on', () => {
  it.each<[string, Rights]>([
    ['everything', { role: 'user' }],
    ['its agent', { role: 'user', agents: ['reviewer', 'other'] }],
    ['its model by another name', { role: 'author', models: ['openai/large'] }],
  ])('it goes on with %s', async (_what, rights) =>
    expect(await open(rights)(asked)).toBeUndefined(),
  )

  const noModel = 'request_model_not_found'
  it.each<[string, Rights, string, RegExp]>([
    ['its model', { role: 'user', models: ['small'] }, noModel, /no model "large"/],
    ['its agent', { role: 'user', agents: ['other'] }, noModel, /no agent "reviewer"/],
    ['the role that talks to agents', { role: 'auditor' }, 'request_forbidden', /role: auditor/],
  ])('it ends where %s was taken, and says so', async (_what, rights, code, why) =>
    expect(await open(rights)(asked)).toEqual({ code, message: expect.stringMatching(why) }),
  )

  it('asks nothing about the operator, and goes on while the rights cannot be read', async () => {
    const broken = createMayGoOn({
      keys: {
        find: async () => undefined,
        rightsOf: async () => {
          throw new IsolaError('request_unavailable', 'away', {})
        },
      },
      fullNameOf: () => undefined,
    })
    expect(await broken(asked)).toBeUndefined()
    expect(await broken({ ...asked, principal: 'operator' })).toBeUndefined()
    // Whether its key still holds is asked elsewhere.
    expect(await open(undefined)(asked)).toBeUndefined()
  })
})
