//! Atomic writing of files.

#[cfg(unix)]
#[test]
fn pipes_are_not_replaced() {
    use std::os::unix::fs::FileTypeExt as _;

    use crate::common::requirement;

    if !requirement::program("mkfifo") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let reader = std::thread::spawn({
        let path = path.clone();
        move || std::fs::read(path).unwrap()
    });
    gputexel::io::write_atomically(&path, b"all of it").unwrap();
    assert_eq!(reader.join().unwrap(), b"all of it");
    assert!(std::fs::metadata(&path).unwrap().file_type().is_fifo());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
