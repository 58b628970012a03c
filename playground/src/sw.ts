// Service worker: each file of this build comes from this machine on the next visit. `build.py` names the files.
//
// A page stays with the build that it was loaded from: a newer one is used when all pages of the older are closed.

/// <reference lib="webworker" />
import { files, version } from 'listed';

declare const self: ServiceWorkerGlobalScope;

const PREFIX = 'cplc-playground ';
const scope = () => new URL(self.registration.scope);
/** Caches belong to a site: another playground of the same site has its own. */
const cacheName = () => `${PREFIX}${scope().pathname} ${version}`;

self.addEventListener('install', (event) => {
  const load = async () => {
    const cache = await caches.open(cacheName());
    await cache.addAll(files.map((file) => new Request(new URL(file, scope()), { cache: 'no-cache' })));
  };
  event.waitUntil(load());
});

self.addEventListener('activate', (event) => {
  const older = (name: string) => name.startsWith(`${PREFIX}${scope().pathname} `) && name !== cacheName();
  const remove = async () => void (await Promise.all((await caches.keys()).filter(older).map((name) => caches.delete(name))));
  event.waitUntil(remove());
});

self.addEventListener('fetch', (event) => {
  if (event.request.method !== 'GET' || !event.request.url.startsWith(scope().href)) return;
  const answer = async () => {
    const cache = await caches.open(cacheName());
    return (await cache.match(event.request, { ignoreSearch: true })) ?? fetch(event.request);
  };
  event.respondWith(answer());
});
