// Fetches the page again and puts its contents in place, without losing what is open, chosen or in
// view; tells when the program is gone.
const note = document.getElementById('live');
const every = 1000 * Number(note.dataset.every);
let last = '';
let misses = 0;
async function look() {
  try {
    const answer = await fetch(location.pathname, { cache: 'no-store' });
    if (!answer.ok) throw new Error(answer.status);
    const text = await answer.text();
    misses = 0;
    note.textContent = 'live: refreshes every ' + note.dataset.every + ' s';
    const fresh = new DOMParser().parseFromString(text, 'text/html').getElementById('page');
    if (fresh && fresh.innerHTML !== last) {
      last = fresh.innerHTML;
      const page = document.getElementById('page');
      const key = (d) => (d.closest('section')?.id || '') + '/' + d.querySelector('summary').firstChild.textContent +
        (d.parentElement.querySelector('title')?.id || '');
      const open = new Map([...page.querySelectorAll('details')].map((d) => [key(d), d.open]));
      const chosen = [...page.querySelectorAll('input:checked')].map((i) => i.id);
      const focus = document.activeElement?.id;
      const aside = new Map([...page.querySelectorAll('.scroll')].map((s, i) => [i, s.scrollLeft]));
      const y = scrollY;
      page.replaceChildren(...fresh.childNodes);
      for (const d of page.querySelectorAll('details')) if (open.has(key(d))) d.open = open.get(key(d));
      for (const id of chosen) { const i = document.getElementById(id); if (i) i.checked = true; }
      if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
      [...page.querySelectorAll('.scroll')].forEach((s, i) => { s.scrollLeft = aside.get(i) || 0; });
      scrollTo(0, y);
      document.title = page.querySelector('h1').textContent;
    }
  } catch (error) {
    misses += 1;
    if (misses >= 3) { note.textContent = 'the program has ended; this is its last state'; return; }
  }
  setTimeout(look, every);
}
setTimeout(look, every);
