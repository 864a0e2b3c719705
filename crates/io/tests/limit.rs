//! Arrays beyond the limit keep their contents, and little of them is resident.
#![cfg(target_os = "linux")]

use gputexel_io::paging::{LARGE, LimitError, PagingAllocator, keep_limit, limit, portions, usage};

#[global_allocator]
static ALLOCATOR: PagingAllocator = PagingAllocator;

fn resident_most() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Returns a folder on a disk, as a build folder is.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

// One test, because there is one limit for a process.
#[test]
fn arrays_beyond_the_limit_are_right_and_mostly_on_disk() {
    let missing = limit(1 << 20, &["/proc/no-such-folder".into()]);
    assert!(matches!(missing, Err(LimitError::Folder(..))), "{missing:?}");
    let in_memory = limit(1 << 20, &["/proc".into()]);
    assert!(matches!(in_memory, Err(LimitError::Folder(..))), "{in_memory:?}");

    let folder = folder();
    const LIMIT: u64 = 128 << 20;
    // Made before there is a limit, and freed and grown after.
    let mut early: Vec<u8> = vec![7; LARGE];
    limit(LIMIT, &["/proc/no-such-folder".into(), folder.path().to_path_buf()]).unwrap();
    assert!(matches!(limit(LIMIT, &[folder.path().to_path_buf()]), Err(LimitError::Set)));
    assert_eq!(usage().in_files, 0);

    let look = |i: usize| {
        if i.is_multiple_of(1 << 19) {
            keep_limit();
        }
    };
    // Four times the limit, in arrays that grow, are zeroed, or are made at once.
    let count = (LIMIT * 2 / 3 / 8) as usize;
    let mut arrays: Vec<Vec<u64>> = Vec::new();
    for k in 0..6u64 {
        let mut array = match k % 3 {
            0 => Vec::new(),
            1 => vec![0; count],
            _ => Vec::with_capacity(count),
        };
        if array.len() == count {
            assert!(array.iter().all(|&value| value == 0));
            array.iter_mut().enumerate().for_each(|(i, value)| {
                *value = i as u64 * 31 + k;
                look(i);
            });
        } else {
            (0..count).for_each(|i| {
                array.push(i as u64 * 31 + k);
                look(i);
            });
        }
        arrays.push(array);
    }
    early.resize(8 * LARGE, 9);
    assert!(usage().in_files > LIMIT, "{:?}", usage());
    // From several threads, in both directions.
    std::thread::scope(|scope| {
        for (k, array) in arrays.iter().enumerate() {
            scope.spawn(move || {
                let right = |(i, &value): (usize, &u64)| value == i as u64 * 31 + k as u64;
                assert!(portions(array).flatten().enumerate().all(right));
                let length = array.len();
                let from_end = |i: usize| (length - 1 - i, &array[length - 1 - i]);
                assert!((0..length).inspect(|&i| look(i)).map(from_end).all(right));
            });
        }
    });
    assert!(early[..LARGE].iter().all(|&byte| byte == 7) && early[LARGE..].iter().all(|&byte| byte == 9));
    // Shrunk below `LARGE`, it moves to the system's allocator.
    let mut last = arrays.pop().unwrap();
    last.truncate(1000);
    last.shrink_to_fit();
    assert!(last.iter().enumerate().all(|(i, &value)| value == i as u64 * 31 + 5));
    drop(arrays);
    drop(early);
    assert_eq!(usage().in_files, 0, "all given back");
    assert!(usage().most_in_files > LIMIT && usage().refused == 0, "{:?}", usage());
    // Each thread may have loaded a portion since the last check, and blocks that move are copied as wholes.
    assert!(resident_most() < LIMIT * 2, "{} MB", resident_most() >> 20);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files have no names");
}
