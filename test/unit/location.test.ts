import { expect, it } from 'vitest'
import { nearest, type Database } from '../../src/platform/d1/database.ts'
import { placed } from '../../src/platform/objects/location.ts'
import { parseConfig } from '../../src/compose/settings.ts'

const namespace = { getByName: (name: string, options?: object) => [name, options] as const }

it('E9: an object that serves the whole deployment is asked for where the setting says, no other', () => {
  const { getByName } = placed(namespace, 'weur', (name) => name === 'shared')
  expect(getByName('shared')).toEqual(['shared', { locationHint: 'weur' }])
  expect(getByName('own')).toEqual(['own', undefined])
  expect(placed(namespace, undefined).getByName('shared')).toEqual(['shared', undefined])
})

it('refuses a place that there is not', () => {
  expect(parseConfig({ ISOLA_LOCATION: 'mars' }).problem?.message).toContain('ISOLA_LOCATION')
  expect(parseConfig({ ISOLA_LOCATION: 'weur' })).toMatchObject({ location: 'weur' })
  expect(parseConfig({ ISOLA_LOCATION: '' }).location).toBeUndefined()
})

it('reads a list at the nearest replica, by a session of its own', () => {
  const sessions: string[] = []
  const database = {
    prepare: () => 'primary',
    withSession: (constraint: string) => (sessions.push(constraint), { prepare: () => 'replica' }),
  } as unknown as Database
  expect([nearest(database).prepare('a'), nearest(database).prepare('b')]).toEqual([
    'replica',
    'replica',
  ])
  expect(sessions).toEqual(['first-unconstrained', 'first-unconstrained'])
})
