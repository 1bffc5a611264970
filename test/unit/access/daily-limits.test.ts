import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { unlimited } from '../../../src/contracts/lease.ts'
import { composeRuntime } from '../../../src/compose/composition.ts'
import { dailyCostUsd, dailyTokens } from '../../../src/features/access/limits-of.ts'
import { createFakeSources } from '../../fakes/kernel.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'

const schema = z.object({ tokens: dailyTokens, cost: dailyCostUsd })

describe('the settings of a day', () => {
  it.each([
    [{}, unlimited, unlimited],
    [{ tokens: '', cost: ' ' }, unlimited, unlimited],
    [{ tokens: '2000000', cost: '25' }, 2_000_000, 25_000_000_000],
    [{ tokens: 2_000_000, cost: 2.5 }, 2_000_000, 2_500_000_000],
    [{ tokens: '0', cost: '0' }, 0, 0],
    [{ cost: '0.1' }, unlimited, 100_000_000],
    [{ cost: '1234.123456789' }, unlimited, 1_234_123_456_789],
  ])('reads %j', (settings, tokens, cost) => {
    expect(schema.parse(settings)).toEqual({ tokens, cost })
  })

  it.each([
    [{ tokens: 'many' }, 'must be a whole number'],
    [{ tokens: '-1' }, 'must be a whole number'],
    [{ tokens: '1e6' }, 'must be a whole number'],
    [{ tokens: 1.5 }, 'must be a whole number'],
    [{ tokens: true }, 'must be a whole number'],
    [{ cost: '$5' }, 'must be an amount of US dollars'],
    [{ cost: '-5' }, 'must be an amount of US dollars'],
    [{ cost: '1,5' }, 'must be an amount of US dollars'],
    [{ cost: '0.0000000001' }, 'must be an amount of US dollars'],
    [{ cost: Number.NaN }, 'must be an amount of US dollars'],
  ])('refuses %j', (settings, message) => {
    expect(schema.safeParse(settings).error?.issues[0]?.message).toContain(message)
  })
})

describe('a setting that is wrong', () => {
  const compose = (settings: object) => {
    const namespace = {
      getByName: () => {
        throw new Error('nobody is to be asked')
      },
    }
    const bindings = {
      DB: createSqliteDatabase().database,
      SESSION: namespace,
      PRINCIPAL: namespace,
    }
    return composeRuntime({ ...bindings, ...settings } as unknown as Env, createFakeSources())
  }
  const lease = {
    principal: 'operator',
    session: 'ses_a',
    run: 'run_a',
    asked: { tokens: 1, costNanoUsd: 0 },
  }

  it.each([
    ['ISOLA_DAILY_TOKENS', 'a lot'],
    ['ISOLA_DAILY_COST_USD', '5 USD'],
  ])('is told on every request: %s=%s; and nothing may be spent', async (name, value) => {
    const { http, session } = compose({ [name]: value })
    await expect(http.readiness()).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`${name}: must be`),
    })
    await expect(session.principals.reserve(lease)).rejects.toMatchObject({
      code: 'request_unavailable',
    })
  })

  it('E1: without any limit a run gets what it asks for, and no principal’s object is asked', async () => {
    expect(await compose({}).session.principals.reserve(lease)).toEqual(lease.asked)
  })
})
